"""Factors between units, each named after both of its units."""

from __future__ import annotations

KIB_PER_MIB = 1 << 10
BYTES_PER_KIB = 1 << 10
BYTES_PER_MIB = 1 << 20
NS_PER_S = 1_000_000_000
US_PER_S = 1_000_000
