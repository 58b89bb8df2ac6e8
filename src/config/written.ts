/** A parsed setting that keeps its text from config.json, for `gw config`. */
export interface Written {
  written: string;
}

/** A setting's value in config.json. */
export function writtenOf(value: string | number | Written): string | number {
  return typeof value === 'object' ? value.written : value;
}
