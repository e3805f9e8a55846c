"""The report that people open: results/report, a folder of pages that needs no server."""
