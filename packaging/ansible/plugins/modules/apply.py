#!/usr/bin/python
# Copyright: the Hawser project
# SPDX-License-Identifier: Apache-2.0

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: apply
short_description: Makes the nodes what the cluster file says
version_added: 0.1.0
description:
  - Runs C(hawser apply). Does nothing when nothing differs.
  - What clients would notice is refused without I(allow_disruption).
  - In check mode says what would be done, or why it would be refused.
extends_documentation_fragment:
  - hawser.cluster.hawser
  - hawser.cluster.hawser.file
options:
  plan:
    description:
      - A plan that M(hawser.cluster.plan) saved. Exactly that is done, or nothing if the cluster is not as it was then.
      - It names its cluster itself, so I(file) and I(lab) do not go with it.
    type: path
  allow_disruption:
    description: Also do what clients notice, which are pools that stop or move.
    type: bool
    default: false
  timeout:
    description: How long Pacemaker is waited for each time, such as C(5m). By default as long as the slowest pool may take.
    type: str
author:
  - The Hawser project (@hawser)
"""

EXAMPLES = r"""
- name: The heads are what the file says
  hawser.cluster.apply:
    file: hawser.toml

- name: What was reviewed is done, or nothing
  hawser.cluster.apply:
    plan: plan.json
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in the order it is done.
  returned: success
  type: list
  elements: dict
not_running:
  description: What does not run although everything is as the file says. Not empty means that the module failed.
  returned: success
  type: list
  elements: str
"""

from ansible_collections.hawser.cluster.plugins.module_utils.hawser import FILE, Hawser


def main():
    module = Hawser(
        dict(
            FILE,
            plan={"type": "path"},
            allow_disruption={"type": "bool", "default": False},
            timeout={"type": "str"},
        ),
        mutually_exclusive=[("plan", "file"), ("plan", "lab")],
    )
    words = ["apply", "--json", "--yes", "--diff"] + module.words("file", "lab", "ssh_config", "timeout")
    if module.params["allow_disruption"]:
        words.append("--allow-disruption")
    if module.check_mode:
        words.append("--dry-run")
    if module.params["plan"] is not None:
        words += ["--", module.params["plan"]]
    code, made, err = module.json(*words)
    result = {
        "changed": made["changed"],
        "changes": made["changes"],
        "not_running": made["not_running"],
        "diff": {"prepared": made.get("diff") or ""},
    }
    if code != 0:
        module.fail_json(msg="configuration applied, but:\n" + "\n".join(made["not_running"]), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
