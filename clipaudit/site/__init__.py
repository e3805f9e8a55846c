"""The HTML report: results/report, a folder of pages that needs no server."""
