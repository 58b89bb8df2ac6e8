/** A value that a setting doesn't accept. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}
