"""Report files: Parquet for collections, newline JSON for small pilots."""
