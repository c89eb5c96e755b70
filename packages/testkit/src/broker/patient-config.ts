/** nats-server counts 2 s by itself, in which a busy machine may not give a client its turn: "Authentication Timeout". */
const PATIENCE_S = 60;

/**
 * Further fields of nats-server's configuration, with which a client has time to make itself known.
 * @param extraConfig fields that win over these
 */
export function patientConfig(extraConfig: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const patient = (section: unknown) => ({ timeout: PATIENCE_S, ...(section as object | undefined) });
  const { authorization, tls } = extraConfig;
  return {
    ...extraConfig,
    authorization: patient(authorization),
    ...(tls !== undefined && { tls: patient(tls) }),
  };
}
