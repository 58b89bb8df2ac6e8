import { retiredMessage } from '../../config/retired-settings.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { type Finding, warning } from './check.ts';

/** Lists the settings in the file that this version of gw ignores. */
export function checkSettings(context: Context): Finding[] {
  return readSettings(context).retired.map((key) =>
    warning('settings', `ignored in the file: ${retiredMessage(key)}`, `gw config unset ${key}`),
  );
}
