import type { SseEnd } from "@reprise/testkit";

/** A command line. */
export type Command = readonly [string, ...string[]];

/** A text of a proxy's files, and what a copy has instead. */
export type Replacement = readonly [from: string, to: string];

/** How clients see a stream end whose node has died: over HTTP/1.1, and whether it looks whole over HTTP/2. */
export type Break = readonly [end: SseEnd, isWhole: boolean];

/** A copy of `infra/proxies/<name>`, and what differs from copy to copy. */
export interface ProxyFiles {
  readonly dir: string;
  /** Of plain HTTP. */
  readonly httpPort: number;
  readonly tlsPort: number;
  /** Of the interface that a reload speaks to, where there is one. */
  readonly adminPort: number;
  /** Of delivery's health and metrics. */
  readonly opsPort: number;
  readonly cert: string;
  readonly key: string;
}

/** How one program is run with the configuration in `infra/proxies/<name>`. */
export interface ProxyKind {
  /** The folder's name, and the program's. */
  readonly name: string;
  /** The folder's files that have to be adapted. */
  readonly files: readonly string[];
  /** What in them is different on this machine, apart from the names of delivery nodes. */
  readonly replaced: (files: ProxyFiles) => readonly Replacement[];
  /** Reads the configuration, says what is wrong with it, and runs nothing. */
  readonly check: (files: ProxyFiles) => Command;
  readonly run: (files: ProxyFiles) => Command;
  readonly reload: (files: ProxyFiles) => Command;
  /** Where it writes its process id if a reload replaces its children; without it the reload's command ends when that is done. */
  readonly pidFile?: (files: ProxyFiles) => string;
  /** In the files: the time without a byte from delivery after which a stream is broken off, up to the number of seconds. */
  readonly idleTimeout: string;
  /** In the files: the time that streams have after a reload, up to the number of seconds. */
  readonly grace: string;
  /** What its versions make of a stream whose node has died. */
  readonly breaks: readonly Break[];
  /** How often a client connects until its stream goes on, once nodes listen again; without a bound where that takes a health check. */
  readonly mostTriesAtNodesBack: number;
}
