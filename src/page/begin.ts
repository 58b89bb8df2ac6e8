import { parseAddress } from './state/address.ts';
import { firstOf, WHOAMI } from './state/questions.ts';
import { begin, keyOf } from './state/readings.ts';
import { sessionSecret, takeSession } from './state/session.ts';

// The view's data is on its way while the browser reads React.
takeSession();
if (sessionSecret() !== undefined)
  for (const [route, input, options] of [WHOAMI, ...firstOf(parseAddress(location.hash))])
    begin(keyOf(route, input, options));
void import('./main.tsx');
