export { completed, delta, moderatedPolicy, redacted, requested, started } from "@reprise/testkit";
