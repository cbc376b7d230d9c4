/** Walks over an array with a stride, as walk.cpp does: javac Walk.java; java Walk 65536 64 */
public class Walk {
  public static void main(String[] arguments) {
    final byte[] x = new byte[Integer.parseInt(arguments[0])];
    final int stride = Integer.parseInt(arguments[1]), accesses = 10_000_000;
    final long start = System.nanoTime();
    for (int access = 0, i = 0; access < accesses; access++) {
      x[i]++;
      i = i + stride < x.length ? i + stride : 0;
    }
    System.out.printf("%.3f ns per access%n", (double) (System.nanoTime() - start) / accesses);
  }
}
