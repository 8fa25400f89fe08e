"""Devices and who gets them: the kinds of resource.k8s.io.

naming        what drivers, pools, devices, attributes and requests are called
lists         lists that have a limit, and whose items are told apart
selecting     expressions that select devices
opaque        what is for a driver alone
requesting    what a claim asks for
claims        ResourceClaim, ResourceClaimTemplate, DeviceClass
allocating    the status of a claim: which devices it has got, and for whom
tainting      taints of devices, what tolerates them, and DeviceTaintRule
capacities    how much of a device may be asked for
slices        ResourceSlice: the devices that there are
"""
