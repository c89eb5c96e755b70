import { randomBytes } from "node:crypto";
import { accountsOf, type BrokerUser, type NatsAccount, type PermissionOptions } from "@reprise/broker";

/** The login of a nats-server user: a password, or the public part of an nkey. */
export type BrokerLogin = PasswordLogin | { readonly nkey: string };

export interface PasswordLogin {
  readonly user: string;
  readonly password: string;
}

/** The accounts of nats-server's configuration, by name. */
export type NatsAccounts = Readonly<Record<string, NatsAccount<BrokerLogin>>>;

/** Users whose passwords are random. */
export interface PasswordUsers {
  readonly accounts: NatsAccounts;
  readonly logins: Readonly<Record<BrokerUser, PasswordLogin>>;
  /** The URL by which a user gets in at a server. */
  readonly urlFor: (user: BrokerUser, serverUrl: string) => string;
}

/** For a server of one start: the passwords are nowhere but in its configuration, and in what this returns. */
export function createPasswordUsers(options: PermissionOptions): PasswordUsers {
  const create = (user: BrokerUser) => ({ user, password: randomBytes(24).toString("base64url") });
  const logins = mapUsers(create);
  const urlFor = (user: BrokerUser, serverUrl: string) =>
    serverUrl.replace("://", `://${user}:${logins[user].password}@`);
  return {
    accounts: accountsOf(logins, options),
    logins,
    urlFor,
  };
}

export function mapUsers<T>(of: (user: BrokerUser) => T): Readonly<Record<BrokerUser, T>> {
  return {
    delivery: of("delivery"),
    "inference-worker": of("inference-worker"),
    moderation: of("moderation"),
    "audit-log": of("audit-log"),
    analytics: of("analytics"),
    admin: of("admin"),
  };
}
