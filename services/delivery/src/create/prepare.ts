import { type GenerationRequest, type ServedBy, tightenPolicy } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { checkRequest, type ModelWorkers } from "../models/check-request.ts";
import type { RequestBlobs } from "../models/request-blobs.ts";
import { resolveMedia } from "../models/resolve-media.ts";
import { prepareModeration } from "../review/prepare-moderation.ts";
import type { RuleChecks } from "../review/rule-checks.ts";
import type { Step } from "./run-steps.ts";

/**
 * Checks the rules that judge the request, creates its conversation if it begins one, and finds its media. Stores nothing of the generation.
 * @throws RepriseError `invalid_request` (rules, media), `blob_not_found`, `capability_unsupported`, errors of the conversation's create
 */
export function prepare({
  ruleChecks,
  classifiers,
  blobs,
}: {
  readonly ruleChecks: Pick<RuleChecks, "checkRequested">;
  /** Undefined if this node does not know them. */
  readonly classifiers: () => ReadonlySet<string> | undefined;
  /** Undefined: this node has no blobs. */
  readonly blobs: RequestBlobs | undefined;
}): Step {
  return {
    name: "prepare",
    async run(creating) {
      const { asked, ref, request } = creating;
      const { tenant } = ref;
      creating.moderation = await prepareModeration({
        tenantPolicy: asked.principal.policy,
        requestPolicy: request.policy ?? {},
        classifiers: classifiers(),
        check: (rules) => ruleChecks.checkRequested(tenant, rules),
      });
      await asked.begins?.create();
      const forMs = runMsOf(request, asked.principal);
      creating.media = await resolveMedia(request, { blobs, tenant, forMs });
      return undefined;
    },
  };
}

/**
 * Checks that the model can serve the request with what comes before it.
 * @throws RepriseError `capability_unsupported`, `invalid_request` (options), `request_unsupported`
 */
export function check(ports: {
  readonly fleet: Pick<ModelWorkers, "capabilitiesOf">;
  /** Undefined if this node does not know the model's engine. */
  readonly servedBy: (model: string) => ServedBy | undefined;
}): Step {
  return {
    name: "check",
    async run(creating) {
      const { request, given } = creating;
      const prompt = given && (given.known ?? given.prompt);
      const requested = { request, ...(prompt && { prompt }) };
      creating.needs = await checkRequest(requested, ports.servedBy(request.model), ports.fleet);
      return undefined;
    },
  };
}

/**
 * Fetches the URLs that the request names into blobs.
 * @throws RepriseError as `RequestBlobs.fetch`
 */
export function fetchUrls(blobs: Pick<RequestBlobs, "fetch">): Step {
  return {
    name: "fetch",
    async run(creating) {
      const { asked, request, given, media } = creating;
      const { principal } = asked;
      const known = { ...given?.media, ...media };
      const forMs = runMsOf(request, principal);
      creating.fetched ??= await blobs.fetch(request, { principal, media: known, forMs });
      return undefined;
    },
    // Reports its errors, and nothing waits for it.
    undo: ({ fetched }) => void fetched?.remove(),
  };
}

/** Returns how long a generation may wait and run, in milliseconds. */
export function runMsOf(request: GenerationRequest, { policy }: Pick<Principal, "policy">): number {
  const { queue, total } = tightenPolicy(policy, request.policy ?? {}).timeouts;
  return queue.after_ms + total.after_ms;
}
