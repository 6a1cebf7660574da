# SPDX-License-Identifier: Apache-2.0
"""A private Slurm cluster in namespaces of one machine. Start reading at lifecycle.py."""
