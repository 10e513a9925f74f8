/** A setting whose value is not accepted: nothing was started. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
  readonly code = 'setting_not_accepted';
  /** The catalogue key, e.g. `agentctl.unownedPeriod`. */
  readonly setting: string;
  /** The value as it was given. */
  readonly value: string;
  /** Where it came from: `option <name>`, `environment <NAME>` or `default`. */
  readonly source: string;
  readonly accepted: string;

  constructor(facts: { setting: string; value: string; source: string; accepted: string }) {
    super(
      `${facts.setting} = ${JSON.stringify(facts.value)} (from ${facts.source}) is not accepted; it must be ${facts.accepted}`,
    );
    this.setting = facts.setting;
    this.value = facts.value;
    this.source = facts.source;
    this.accepted = facts.accepted;
  }
}
