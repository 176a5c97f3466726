import { allocate, resize } from './memory';

const FIRST_BYTES: u32 = 1024;
const NUMBER_BITS: u32 = 2;

/** A list of numbers that grows. */
@unmanaged
export class Numbers {
  /** Where they are. */
  at: usize;
  length: u32;
  private bytes: u32;

  begin(): void {
    this.length = 0;
    this.bytes = FIRST_BYTES;
    this.at = allocate(FIRST_BYTES);
  }

  get(index: u32): i32 {
    return load<i32>(this.at + (index << NUMBER_BITS));
  }

  set(index: u32, value: i32): void {
    store<i32>(this.at + (index << NUMBER_BITS), value);
  }

  push(value: i32): void {
    const room = this.bytes;
    if (this.length << NUMBER_BITS === room) {
      this.at = resize(this.at, room, room * 2);
      this.bytes = room * 2;
    }
    this.set(this.length, value);
    this.length += 1;
  }
}
