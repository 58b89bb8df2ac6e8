import { describeClient } from '../support/client-cells.ts';
import { allClients } from '../support/clients.ts';

for (const client of await allClients()) describeClient(client);
