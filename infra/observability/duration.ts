const UNITS = [
  { suffix: "d", seconds: 86_400 },
  { suffix: "h", seconds: 3_600 },
  { suffix: "m", seconds: 60 },
  { suffix: "s", seconds: 1 },
];

/** A duration as Prometheus writes it: `90s`, `5m`, `3d`. At least one second, as nothing here is scraped more often. */
export function toDuration(seconds: number): string {
  const whole = Math.max(1, Math.round(seconds));
  const unit = UNITS.find((candidate) => whole % candidate.seconds === 0);
  return unit === undefined ? `${whole}s` : `${whole / unit.seconds}${unit.suffix}`;
}
