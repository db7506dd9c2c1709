"""The file that a client and a collector trust: written, read and proven."""
