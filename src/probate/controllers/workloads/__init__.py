"""The workload controllers of kube-controller-manager: they create and delete dependents on behalf of an owner."""
