"""Mechanisms as whole numbers over 2^32: how they are drawn, and the proof that they are private.

A question's law is a way of asking (:mod:`.answers`) and a form of report (:mod:`.bits`,
:mod:`.sides`, :mod:`.rows`, :mod:`.hashing`, :mod:`.die`). Standard library only: this is all that
a person's device runs. :mod:`planner.mechanisms` adds what a collector needs.
"""
