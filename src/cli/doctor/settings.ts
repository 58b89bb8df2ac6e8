import { retiredMessage } from '../../config/retired-settings.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { broken, type Finding, warning } from './check.ts';

/** Lists what gw can't use in the settings file, and what this version ignores. */
export function checkSettings(context: Context): Finding[] {
  const { retired, problems } = readSettings(context);
  return [
    ...problems.map((problem) => broken('settings', problem, 'correct the file, or follow the message')),
    ...retired.map((key) =>
      warning('settings', `ignored in the file: ${retiredMessage(key)}`, `gw config unset ${key}`),
    ),
  ];
}
