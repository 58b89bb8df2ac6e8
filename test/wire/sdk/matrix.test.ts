import { makersClients } from '../support/clients.ts';
import { describeClient } from '../support/describe-client.ts';

for (const client of await makersClients()) describeClient(client);
