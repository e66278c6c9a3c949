"""The engines that are measured side by side, one file each behind `base.Engine`."""
