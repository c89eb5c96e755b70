import { BlockList, isIPv4, isIPv6 } from "node:net";

/*
 * Which addresses belong to the public Internet. IPv4 is all of it but what IANA's registry of special addresses has; of IPv6 the only public
 * part is 2000::/3, without what that registry has of it. An IPv6 address that holds an IPv4 address goes by that one.
 */

const special4 = blockList("ipv4", [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Within Azure: a service of the host. Not routed on the Internet.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast, reserved, and the broadcast address.
  ["224.0.0.0", 3],
]);
const global6 = blockList("ipv6", [["2000::", 3]]);
const special6 = blockList("ipv6", [
  // Teredo, ORCHID, benchmarks and other protocols.
  ["2001::", 23],
  ["2001:db8::", 32],
  // 6to4, which leads to any IPv4 address.
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
]);
/** Prefixes of 96 bits whose addresses end in an IPv4 address: mapped, and NAT64. */
const mapped = blockList("ipv6", [["::ffff:0:0", 96]]);
const nat64 = blockList("ipv6", [["64:ff9b::", 96]]);

/** False for what is no address, too. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special4.check(address, "ipv4");
  // One with a zone is of a link.
  if (!isIPv6(address) || address.includes("%")) return false;
  if (mapped.check(address, "ipv6") || nat64.check(address, "ipv6"))
    return isPublicAddress(lastFour(address));
  return global6.check(address, "ipv6") && !special6.check(address, "ipv6");
}

function lastFour(address: string): string {
  // As URLs write it: the last two groups are hexadecimal, and no more than one `::` is left.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(":");
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || "0", 16));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

function blockList(
  family: "ipv4" | "ipv6",
  nets: readonly (readonly [net: string, prefix: number])[],
): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of nets) list.addSubnet(net, prefix, family);
  return list;
}
