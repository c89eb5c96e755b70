import { BlockList, isIPv6 } from "node:net";
import type { AddressClass } from "@reprise/protocol";

/* IPv4 addresses that are written as IPv6 (`::ffff:10.0.0.1`) are in the same lists. */
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const local = new BlockList();
local.addSubnet("10.0.0.0", 8, "ipv4");
local.addSubnet("172.16.0.0", 12, "ipv4");
local.addSubnet("192.168.0.0", 16, "ipv4");
local.addSubnet("100.64.0.0", 10, "ipv4");
local.addSubnet("169.254.0.0", 16, "ipv4");
local.addSubnet("fc00::", 7, "ipv6");
local.addSubnet("fe80::", 10, "ipv6");

/**
 * Where a connection comes from: this machine, a private network, or the internet. Nothing else of an
 * address is kept. Behind a proxy that is not trusted it is the proxy's.
 * @param address as a socket has it; undefined once it is closed, which is taken for `public`
 */
export function addressClassOf(address: string | undefined): AddressClass {
  // The zone of a link-local address names an interface of this machine.
  const [plain = ""] = address?.split("%") ?? [];
  const family = isIPv6(plain) ? "ipv6" : "ipv4";
  if (loopback.check(plain, family)) return "loopback";
  return local.check(plain, family) ? "private" : "public";
}
