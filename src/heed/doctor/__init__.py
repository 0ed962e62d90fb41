"""Examine a parallel corpus before training: find its faults, and write a clean copy.

`examine` finds the faults (`examination.py` combines the checks, which have a file each); `fix` writes the copy.
No text is kept in memory: each pair takes about sixty bytes of lengths and hashes.
"""

from heed.doctor.examination import Examination, Example, Finding, examine
from heed.doctor.fixing import Fixed, fix, refuse_folder
from heed.doctor.kinds import KINDS

__all__ = ["KINDS", "Examination", "Example", "Finding", "Fixed", "examine", "fix", "refuse_folder"]
