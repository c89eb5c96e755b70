import { isIPv6 } from "node:net";

const GROUPS = 8;
/** 64 bits. */
const NETWORK_GROUPS = 4;

/**
 * Returns the address that limits per address count. For IPv6 that is the /64: one customer has at least that much, and could use a new address for every
 * call.
 */
export function countedAddress(address: string): string {
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain) || plain.startsWith("::ffff:")) return address;
  const [head = "", tail = ""] = plain.split("::");
  const before = head === "" ? [] : head.split(":");
  const last = tail === "" ? [] : tail.split(":");
  // An IPv4 address at the end takes the place of two groups.
  const written = before.length + last.length + (plain.includes(".") ? 1 : 0);
  const zeros = Array.from({ length: GROUPS - written }, () => "0");
  const groups = [...before, ...zeros, ...last].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
