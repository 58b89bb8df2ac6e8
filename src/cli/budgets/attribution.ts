import { CAN_ATTRIBUTE } from '../../attribution/attribution.ts';
import { type Context, note } from '../context.ts';
import { usageError } from '../exit.ts';
import { readSettings } from '../settings.ts';

const SWITCH_ON = 'gw config set attribution on';

/** A budget of a repository holds only where gw finds out who calls. */
export function mustAttribute(context: Context): void {
  if (!CAN_ATTRIBUTE)
    throw usageError(`on ${process.platform}, gw cannot tell which repository a request comes from`);
  if (isOff(context))
    throw usageError(
      `attribution is off, so gw does not know which repository a request comes from. To switch it on: ${SWITCH_ON}`,
    );
}

/** Warns that budgets of repositories count nothing, where that is so. */
export function noteAttribution(context: Context): void {
  if (!CAN_ATTRIBUTE || isOff(context)) {
    note(context, `Repository budgets count nothing while attribution is off. To switch it on: ${SWITCH_ON}`);
  }
}

function isOff(context: Context): boolean {
  return readSettings(context).settings.attribution === 'off';
}
