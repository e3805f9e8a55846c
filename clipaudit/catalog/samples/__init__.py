"""One sample's fate in all audits."""
