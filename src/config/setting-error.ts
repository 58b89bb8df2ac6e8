/** A value that a setting cannot have. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}
