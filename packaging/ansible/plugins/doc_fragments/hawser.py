# Copyright: the Hawser project
# SPDX-License-Identifier: Apache-2.0
"""What all modules take."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type


class ModuleDocFragment(object):
    """Options and notes that all modules share."""

    DOCUMENTATION = r"""
options:
  lab:
    description: The nodes are those of this lab, which C(hawser lab up --cluster) made.
    type: str
  ssh_config:
    description: An ssh configuration file instead of your own.
    type: path
  hawser:
    description: The program.
    type: path
    default: hawser
notes:
  - Runs on the control node, which reaches the heads as C(hawser) does; use C(hosts=localhost).
"""

    FILE = r"""
options:
  file:
    description:
      - The cluster file.
      - By default C(hawser.toml) in the folder in which Ansible runs, or the lab's own with I(lab).
    type: path
"""
