"""From report files to sums: one file at a time, on one processor, on all, or on a cluster."""
