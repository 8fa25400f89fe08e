"""The kinds of storage.k8s.io: StorageClass, VolumeAttributesClass and the CSI kinds."""
