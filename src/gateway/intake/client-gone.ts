/** The client has hung up, so there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
