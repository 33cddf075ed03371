#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
command -v cc >/dev/null || exit 77
exec tools/check-docs
