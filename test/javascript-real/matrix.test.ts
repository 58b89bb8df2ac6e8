import { describeClient } from '../wire/support/describe-client.ts';
import { libraryClients } from './clients.ts';

for (const client of await libraryClients()) describeClient(client);
