import type { WhoamiView } from '../operations/schemas/dashboard.ts';
import { parseAddress } from './state/address.ts';
import { firstOf, WHOAMI, windowsOf } from './state/questions.ts';
import { begin, keyOf } from './state/readings.ts';
import { sessionSecret, takeSession } from './state/session.ts';

/** Asks for the view's data while the browser reads the page's main script. */
async function readAhead(): Promise<void> {
  const address = parseAddress(location.hash);
  const whoami = begin(keyOf(...WHOAMI));
  for (const [route, input, options] of firstOf(address)) begin(keyOf(route, input, options));
  await whoami.first;
  // The owner's alone.
  if (address.view === '' && (whoami.known.data as WhoamiView | undefined)?.key.admin)
    begin(keyOf(...windowsOf(false)));
}

takeSession();
if (sessionSecret() !== undefined) void readAhead();
void import('./main.tsx');
