"""How a Deployment gets from one version to the next: decisions only. `workloads.deployments` carries them out."""
