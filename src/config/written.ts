/** A parsed setting that keeps its text from config.json, for `gw config`. */
export interface Written {
  written: string;
}

/** A setting's value as it is in config.json. */
export type Plain = string | number | boolean | readonly string[];

/** A setting's value in config.json. */
export const writtenOf = (value: Plain | Written): Plain =>
  typeof value === 'object' && 'written' in value ? value.written : value;
