const POD: &str = "metadata: {name: db, uid: db-1}
spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let node = pinfold::Options::new()
        .no_enforce() // without it: cgroups below cgroup_root
        .state_dir(&arguments[1])
        .machine(&arguments[2]) // without it: this machine
        .config("cpuManagerPolicy: static\nreservedSystemCPUs: '0'")
        .open()?;
    for container in node.admit(POD)?.containers {
        println!(
            "{}: cpus {}, shares {}",
            container.name, container.cpus, container.cpu_shares
        );
    }
    Ok(node.remove("db-1", pinfold::Processes::Refuse)?)
}
