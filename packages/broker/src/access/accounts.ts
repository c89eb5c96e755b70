import {
  ANALYTICS_CALLS,
  ANALYTICS_CANCEL_SUBJECT,
  analyticsCallSubject,
  AUDIT_CALLS,
  auditCallSubject,
  LIVE_VERDICTS_SUBJECTS,
  YIELD_SUBJECTS,
} from "@reprise/protocol";
import { isAnsweredOften } from "./api-subject.ts";
import { BROKER_USERS, type BrokerUser } from "./broker-user.ts";
import { ANSWERS, inbox, type PermissionOptions, type Permissions, permissionsOf } from "./permissions.ts";

/*
 * Permissions say what a user sends and hears. They do not say where the broker's answers go: nats-server takes its own answer to a subject of
 * JetStream's API for a request, and asks no permission. So the services that need not append every event have accounts of their own, where
 * there is no JetStream. An answer goes to the account that the request came from, and reaches no further than what that account imports: what its
 * user may publish.
 *
 * Streams, workers and `admin` are in PLATFORM_ACCOUNT. A request over the border costs the broker about as much again as the request
 * itself (12 µs of CPU, measured at 2.15.1), an event that is pulled over it 4 µs, one that is heard over it less than 1 µs: each event is appended by
 * a worker, so workers have no account of their own.
 *
 * A message published over a border is stored, and heard, in PLATFORM_ACCOUNT, and goes from there into no third account on the same server: an account hears from that one,
 * and from each account that publishes to the same subject. A subject that a service both publishes and subscribes to is not imported for
 * publishing: its processes hear each other within their account, and would hear each message twice. A request to yield is: delivery sends it to workers too. It, a rule set and an
 * erasure, which a service hears both from the account that publishes them and from PLATFORM_ACCOUNT, may come twice in a cluster, and are taken any number of times.
 */

/** The account of the streams. */
export const PLATFORM_ACCOUNT = "REPRISE";
const AUDIT_LOG = "AUDIT_LOG";
const ANALYTICS = "ANALYTICS";

const ACCOUNT_OF: Readonly<Record<BrokerUser, string>> = {
  delivery: "DELIVERY",
  "inference-worker": PLATFORM_ACCOUNT,
  moderation: "MODERATION",
  "audit-log": AUDIT_LOG,
  analytics: ANALYTICS,
  admin: PLATFORM_ACCOUNT,
};

/** Calls that a service answers: they go from account to account. What else is published goes to PLATFORM_ACCOUNT. */
const SERVED_BY: ReadonlyMap<string, string> = new Map([
  ...AUDIT_CALLS.map((call) => [auditCallSubject(call), AUDIT_LOG] as const),
  ...ANALYTICS_CALLS.map((call) => [analyticsCallSubject(call), ANALYTICS] as const),
  [ANALYTICS_CANCEL_SUBJECT, ANALYTICS],
]);

/** For how long after a request its further answers reach the account that asked: a pull waits for at most 2 s. */
const ANSWERS_FOR = "30s";

type Kind = "service" | "stream";

type Export = { readonly [kind in Kind]?: string } & {
  readonly accounts: string[];
  readonly response_type?: "stream";
  readonly response_threshold?: string;
};

type Import = { readonly [kind in Kind]?: { readonly account: string; readonly subject: string } };

/** An account as nats-server's configuration has it. */
export interface NatsAccount<Login> {
  readonly jetstream?: "enabled";
  readonly users: (Login & { readonly permissions: Permissions })[];
  readonly exports: Export[];
  readonly imports: Import[];
}

/** The accounts of the platform, with all users. */
export function accountsOf<Login extends object>(
  logins: Readonly<Record<BrokerUser, Login>>,
  options: PermissionOptions,
): Readonly<Record<string, NatsAccount<Login>>> {
  const accounts = new Map<string, NatsAccount<Login>>();
  const accountNamed = (name: string) => {
    const account = accounts.get(name) ?? {
      ...(name === PLATFORM_ACCOUNT && { jetstream: "enabled" as const }),
      users: [],
      exports: [],
      imports: [],
    };
    accounts.set(name, account);
    return account;
  };
  const share = (kind: Kind, subject: string, owner: string, importer: string) => {
    if (owner === importer) return;
    accountNamed(importer).imports.push({ [kind]: { account: owner, subject } });
    const { exports } = accountNamed(owner);
    const shared = exports.find((one) => one[kind] === subject);
    if (shared) shared.accounts.push(importer);
    else exports.push({ [kind]: subject, accounts: [importer], ...answersTo(kind, subject) });
  };
  for (const user of BROKER_USERS) {
    const name = ACCOUNT_OF[user];
    const permissions = permissionsOf(user, options);
    accountNamed(name).users.push({ ...logins[user], permissions });
    if (name === PLATFORM_ACCOUNT) continue;
    const heard = new Set(permissions.subscribe.allow);
    const sent = new Set(permissions.publish.allow);
    for (const subject of sent) {
      const isHeardHere = heard.has(subject) && subject !== YIELD_SUBJECTS;
      const isLocal = isHeardHere || subject === LIVE_VERDICTS_SUBJECTS || subject === ANSWERS;
      if (!isLocal) share("service", subject, SERVED_BY.get(subject) ?? PLATFORM_ACCOUNT, name);
    }
    heard.delete(inbox(user));
    for (const subject of heard) {
      if (SERVED_BY.has(subject)) continue;
      share("stream", subject, PLATFORM_ACCOUNT, name);
      for (const other of BROKER_USERS)
        if (
          ACCOUNT_OF[other] !== PLATFORM_ACCOUNT &&
          permissionsOf(other, options).publish.allow.includes(subject)
        )
          share("stream", subject, ACCOUNT_OF[other], name);
    }
  }
  // For `admin`, which hears all that is published.
  share("stream", LIVE_VERDICTS_SUBJECTS, ACCOUNT_OF.moderation, PLATFORM_ACCOUNT);
  return Object.fromEntries(accounts);
}

function answersTo(kind: Kind, subject: string) {
  if (kind === "stream" || !isAnsweredOften(subject)) return {};
  return { response_type: "stream", response_threshold: ANSWERS_FOR } as const;
}
