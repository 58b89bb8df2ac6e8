import { parseStatus, STATUS_NAMES } from '../../reading/status-filter.ts';
import { usageError } from '../exit.ts';

/** Returns the value of `--status`. Throws unless it is an HTTP status, an outcome or `failed`. */
export function checkStatus(text: string | undefined): string | undefined {
  if (text === undefined || parseStatus(text)) return text;
  throw usageError(`--status ${text} is neither an HTTP status nor one of: ${STATUS_NAMES.join(', ')}`);
}
