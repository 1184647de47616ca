"""The kubelet's PodResources API as its documentation describes it, without the .proto files."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

F = descriptor_pb2.FieldDescriptorProto
SCALARS = {"string": F.TYPE_STRING, "int64": F.TYPE_INT64, "uint64": F.TYPE_UINT64}

# Fields: name, number, type; "*": repeated.
V1 = {
    "AllocatableResourcesRequest": [],
    "AllocatableResourcesResponse": [("devices", 1, "*ContainerDevices"), ("cpu_ids", 2, "*int64"),
                                     ("memory", 3, "*ContainerMemory")],
    "ListPodResourcesRequest": [],
    "ListPodResourcesResponse": [("pod_resources", 1, "*PodResources")],
    "GetPodResourcesRequest": [("pod_name", 1, "string"), ("pod_namespace", 2, "string")],
    "GetPodResourcesResponse": [("pod_resources", 1, "PodResources")],
    "PodResources": [("name", 1, "string"), ("namespace", 2, "string"),
                     ("containers", 3, "*ContainerResources")],
    "ContainerResources": [("name", 1, "string"), ("devices", 2, "*ContainerDevices"),
                           ("cpu_ids", 3, "*int64"), ("memory", 4, "*ContainerMemory"),
                           ("dynamic_resources", 5, "*DynamicResource")],
    "ContainerMemory": [("memory_type", 1, "string"), ("size", 2, "uint64"),
                        ("topology", 3, "TopologyInfo")],
    "ContainerDevices": [("resource_name", 1, "string"), ("device_ids", 2, "*string"),
                         ("topology", 3, "TopologyInfo")],
    "TopologyInfo": [("nodes", 1, "*NUMANode")],
    "NUMANode": [("ID", 1, "int64")],
    "DynamicResource": [("claim_name", 2, "string"), ("claim_namespace", 3, "string")],
}
V1ALPHA1 = {
    "ListPodResourcesRequest": [],
    "ListPodResourcesResponse": [("pod_resources", 1, "*PodResources")],
    "PodResources": [("name", 1, "string"), ("namespace", 2, "string"),
                     ("containers", 3, "*ContainerResources")],
    "ContainerResources": [("name", 1, "string"), ("devices", 2, "*ContainerDevices")],
    "ContainerDevices": [("resource_name", 1, "string"), ("device_ids", 2, "*string")],
}


def make(package, messages):
    """The message classes of a package, by name."""
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(
        name=package + ".proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            is_list, kind = kind.startswith("*"), kind.lstrip("*")
            entry = message.field.add(
                name=field, number=number,
                label=F.LABEL_REPEATED if is_list else F.LABEL_OPTIONAL)
            if kind in SCALARS:
                entry.type = SCALARS[kind]
            else:
                entry.type, entry.type_name = F.TYPE_MESSAGE, f".{package}.{kind}"
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{name}"))
            for name in messages}
