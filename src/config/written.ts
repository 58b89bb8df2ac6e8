/** A setting whose value differs from its text in config.json, which `gw config` prints. */
export interface Written {
  written: string;
}

/** A setting as config.json has it. */
export function writtenOf(value: string | number | Written): string | number {
  return typeof value === 'object' ? value.written : value;
}
