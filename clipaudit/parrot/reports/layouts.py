"""How the tables of the parrot-caption audit look in print."""

from collections.abc import Mapping

from clipaudit.parrot.reports.curated_layouts import LAYOUTS as CURATED
from clipaudit.parrot.reports.profile_layouts import LAYOUTS as PROFILE
from clipaudit.reports.layouts import Layout, Listing

LAYOUTS: Mapping[str, Layout | Listing] = {**CURATED, **PROFILE}
