"""From report files to sums: one file at a time, in threads, in processes or on a cluster."""
