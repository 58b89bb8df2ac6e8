import { CAN_ATTRIBUTE } from '../../attribution/attribution.ts';
import { type Context, note } from '../context.ts';
import { usageError } from '../exit.ts';
import { readSettings } from '../settings.ts';

const SWITCH_ON = 'gw config set attribution on';

/** Throws unless gw can attribute requests to repositories, which a repository's budget needs. */
export function mustAttribute(context: Context): void {
  if (!CAN_ATTRIBUTE)
    throw usageError(`on ${process.platform}, gw cannot tell which repository a request comes from`);
  if (isOff(context))
    throw usageError(
      `attribution is off, so gw does not know which repository a request comes from. To switch it on: ${SWITCH_ON}`,
    );
}

/** Warns if repository budgets count nothing. */
export function noteAttribution(context: Context): void {
  if (!CAN_ATTRIBUTE || isOff(context)) {
    note(context, `Repository budgets count nothing while attribution is off. To switch it on: ${SWITCH_ON}`);
  }
}

function isOff(context: Context): boolean {
  return readSettings(context).settings.attribution === 'off';
}
