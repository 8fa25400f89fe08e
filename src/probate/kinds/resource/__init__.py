"""Devices and their allocation: the kinds of resource.k8s.io (dynamic resource allocation).

device_names         the names of drivers, pools, devices, attributes and requests
bounded_lists        lists that have a limit, and whose items are unique
device_selectors     CEL expressions that select devices
opaque_parameters    parameters that only a driver interprets
device_requests      what a claim requests
validation           ResourceClaim, ResourceClaimTemplate, DeviceClass
allocation_status    the status of a claim: its allocated devices and its consumers
device_taints        taints of devices, their tolerations, and DeviceTaintRule
capacities           how much of a device may be requested
slice_validation     ResourceSlice: the devices that exist
"""
