/** Where it is said who holds a piece of a group's work. */
export function leaseSubject(group: string, name: string): string {
  return `lease.${group}.work.${name}`;
}

/** Where a process says that it shares a group's work. */
export function memberSubject(group: string, holder: string): string {
  return `lease.${group}.member.${holder}`;
}

/** Where a group keeps what outlives its processes, such as how far a piece of work had come. */
export function keptSubject(group: string, name: string): string {
  return `lease.${group}.kept.${name}`;
}

export function leaseSubjects(group: string): string {
  return `lease.${group}.>`;
}
