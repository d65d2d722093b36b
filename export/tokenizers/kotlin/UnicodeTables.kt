// What the tokenizer in the graph does with each character.
// Written by: python -m export.tokenizers.write_unicode_tables
// The form of the tables is told in export/tokenizers/tables/compact.py.

package kbert.tokenizer

internal object UnicodeTables {
    /** end a word */
    const val SPACES =
        "9.2 2 i 3j 4bj 1vj.b t.2 5 1b 334"

    /** vanish before anything else; halves of surrogate pairs too, which UTF-8 cannot write */
    const val DROPPED =
        "0.9 2.2 1.i 2n.x d 11u.6 m 5c 1d ao.2 28 2zv 1ks.5 q.5 1d.5 1.a 109c.1kw 64f 6x.3 1 3b3 f 6zm.g " +
        "qxs.4 43z.8 h406 u.2o"

    /** are a word each: punctuation and ideographs */
    const val ALONE =
        "x.f a.7 q.6 q.4 y 5 3 a.2 3 3 ji 8 cy.6 15.2 1f 1 2 2 18.2 k.2 1.2 d 1.3 22.4 2u 17.e 6h.3 1i.f " +
        "v 79.2 a 3w 3c 3d au c a7 2i a.2 4o.f 1 11.4 1z 22.5 4.2 33.6 4r h0.9 47 h9 18.2 26.3 1z.2 4d.3 " +
        "1.3 11.b 8p.2 60.2 3k.7 1.6 4s.7 s.2 3h.4 1n.5 1q.2 1s.8 b n0.o 8.k 1.d 1.c u.2 e.2 hl.4 t.2 " +
        "u5.e 27.2 v.a b7.m 1r.4 w.2 l7.4 1.2 34 3z.1b 1.w 2.c bn.3 4.a 2.c g c 2q 2i lg.534 1s.g74 zi.2 " +
        "7h.3 2r a 37.6 ak.4 2e.2 14.3 1 1d.2 1b 2p.d g.2 3g.4 3i.2 g.2 6x f84.e8 fy.2 5s.a m.z 1.e 1 4 " +
        "1.2 45.3 1.6 1.4 a.2 3.2 q.3 1 r 1 1.7 be.3 ik 1c bi kn 5j v 7k.9 12 34.7 1u.7 2h.4 ls 4n.5 18.4 " +
        "59.7 31.2 1.4 3i.4 1c.2 27.4 4 d 1.3 2g.6 2z bl.5 a.2 1 2w 6y.n 2x.3 s.d 24 3m.3 70 7c.3 4b 2k.8 " +
        "2b.3 1.5 2l.a 8n.5 16.2 hx.2 22.d 4v vk.5 29o.2 bjv.2 3p 1t.5 8 nm.4 93 f5o 5wn.5 2xe.2 4gw.wyo " +
        "w.7u8 85s.f4"

    /** vanish when lower-casing */
    const val ACCENTS =
        "lc.34 7n.5 7d.19 1 1.2 1.2 1 20.b 1c.l g 2t.7 2.6 2.2 1.4 z u.r 2j.b 1m.9 9 o.4 1.9 1.3 1.5 17.3 " +
        "1o.8 16.o 1.w 1j 1 4.8 4 3.7 a.2 t 1m 4.4 8 k.2 q 2.2 1l 4.2 4.2 2.3 3 u.2 3 b.2 1l 4.5 1.2 4 " +
        "k.2 m.6 1 1m 2 1.4 8 7.2 b.2 u 1p c 1e 3 1j 1.3 5.3 1.4 7.2 b.2 t 1m 2 6 5.2 k.2 s.2 1l.2 4.4 8 " +
        "k.2 t 20 7.3 1 2i 2.7 c.8 2q 2.9 b.7 21.2 r 1 1 1j.e 1.5 1.2 5.b 1.10 9 2u.4 1.6 1.2 2.2 p.2 4.3 " +
        "g.4 d 2.2 6 f jj.3 qa.3 t.2 u.2 u.2 1s.2 1.7 8 2.b 9 19.3 1 39.2 y 3a.3 4.2 9 6.3 63.2 2 1m 1.7 " +
        "1 1 2.8 6.a 2 1c.e 1.g 1d.4 1c 1.5 1 5 14.9 c.2 w.4 2.2 1.3 1k 1.2 3 1.3 1m.8 2.2 48.3 1.d 1.7 4 " +
        "6 3.2 5i.1s k0.d 4 3.c 2da.3 3x 2o.w fe.4 2z.2 n9w 4.a w.2 28.2 7k 3 4 p.2 5 47.2 q.i d 12.8 p.b " +
        "1a.3 1c 2.4 2.2 13 1v.6 2.2 2.2 c 8 1b 1f 1.3 2.2 5.2 1 16.2 8 6m 2 4 fn4 kh.g g.g r1 6a 45.5 " +
        "1ae.3 1.2 5.4 14.3 4 4l.2 fx.4 ar.2 28.3 1y.b 1d.4 3f 1i.f 15 2.2 a.3 1d.4 2.2 7 1p.3 10.5 1.8 " +
        "1q c.2 1g.9 a.4 2 2n.3 2 1.2 6 2 4d 3.8 l.2 1l.2 3 11.7 3.5 5f.8 2.3 1 n 2c.6 1 4.2 1.2 6m.4 6.2 " +
        "1.2 r.2 2d.8 2 1.2 2y 1 2.6 1 2t.3 2.4 1.5 77.9 1.2 74.2 1 4 40.4 2.2 4 w.a 14.6 2.4 8 9.6 2.3 " +
        "1a.d 1.2 ba.7 1.6 1 2a.m 2.7 1.2 1.2 3e.6 3 1.2 1.7 1 20.2 3 1 9n.2 b.2 1g.5 5 1 459 6.f asa.5 " +
        "1n.7 t4 1r.4 29 f5k.2 3mp.1a 2.n f4.3 h.8 2.7 u.4 44.3 1iz.1j 4.1e 8 e m.5 1.f 11s.7 1.h 2.7 1.2 " +
        "1.5 2s 4g.7 af 1p.4 e4.4 rk.7 31.7 gzhx.6o"

    /** of these, those across which marks are not reordered */
    const val FIXED_ACCENTS =
        "nj uu.b 9b.3 1j 6.8 c.3 a.2 t 1r.4 t.2 t.2 1q.2 4.2 2.2 4 u.2 3 b.2 1q.5 1.2 p.2 m.6 1 1p 1.4 " +
        "g.2 b.2 u 1p 1r 3 1l.3 5.3 1.3 l.2 t 1p 6 5 l.2 s.2 1r.4 t.2 t 28.3 1 2i 2.4 f 4.3 2q 2.4 3.2 " +
        "f.3 4n.4 4 e.b 1.10 34.4 1.5 6.2 p.2 4.3 g.4 d 2.2 m 19w.2 u.2 u.2 u.2 1s.2 1.7 8 2.9 1 1j.3 1 " +
        "39.2 49.3 4.2 9 6g 1m 1.7 3 2.8 6.2 3v.4 1e.5 1 5 1p.2 w.4 2.2 2.2 1m.2 3 1.3 1m.8 2 rm3 8 p.2 " +
        "4e 1l 12.5 s.b 1a.3 1f.4 2.2 13 1v.6 2.2 2.2 c 8 1b 33.2 6v 2 g7r.g 2cx.3 1.2 5 1 16a 1i.e 19.2 " +
        "b.2 1d.4 b 2s.5 1.6 25.2 1g.9 a 1.2 2 2n.3 2 2 6 2 4d 3.6 n.2 1q 6v.8 3.2 32.6 1 4.2 6p.4 6.2 " +
        "u.2 2d.8 2 2 2y 1 2.6 2v.3 2.4 1.4 78.9 77.2 47.4 2.2 11.a 14 1.4 2.4 i.6 2.3 1a.d 1 bb.7 1.6 " +
        "2c.m 2.7 1.2 1.2 3e.6 3 1.2 1.3 1 3 20.2 3 9p.2 b.2 1g.5 5 45b 6.f bnd 1r.4 29 f5k 3mq.1a 2.n " +
        "249.1j 4.1e 8 e m.5 1.f h2ds.6o"

    /** letters that have a case, for the final sigma */
    const val CASED =
        "1t.q 6.q 1b a 4 5.n 1.v 1.5f 1.4 4.5s 1.r 5c.4 2.2 3.3 1 6 1.3 1 1.k 1.2b 1.3v 8.4m 1.12 9.15 " +
        "26v.12 1 5 2.17 2.3 io.2e 2.6 1oi.9 7.17 2.3 1s.18 1r.d 1.y 2t.7q 2.6 2.12 2.6 2.8 1 1 1 1.v " +
        "2.1h 1.7 1 3.3 1.7 3.4 2.6 4.d 5.3 1.7 79 4 2.a 1 3.5 6 1 1 1.4 1.6 4 2.4 5.5 4 h.w 3.2 mp.1g " +
        "1ee.1b 1.1b 1.s 2.2v 6.4 3.2 c.12 1 5 nwy.1a i.s 3q.26 1.n 3.4 1.1c 2.9 16.2 3 mt.17 5.9 7.28 " +
        "fnk.7 c.5 sp.q 6.q x1.28 2o.10 4.10 1hg.1f d.1f 2b1.1s gv4.1s k1s.2d 1.1z 1.2 2 2.2 2.4 1.c 1 " +
        "1.7 1.1t 1.4 2.8 1.7 1.s 1.4 1.5 1 3.7 1.9g 2.p 1.p 1.v 1.p 1.v 1.p 1.v 1.p 1.v 1.p 1.8 3ec.1w " +
        "1kc.q 6.q 6.q"

    /** looked past by the rule of the final sigma */
    const val CASE_IGNORABLE =
        "13 6 b z 1 1z 6 4 2.2 dz.5c 4.2 4 9.2 1 6z.7 5r 5 1d.19 1 1.2 1.2 1 18 r.b 11 a.l g 2t.7 2.a 1.4 " +
        "z u.r 2j.b 1m.b 4 2 o.o 17.3 3b.f 1.w 1j 1 4.8 4 3.7 a.2 d f 1m 4.4 8 k.2 q 2.2 1l 4.2 4.2 2.3 3 " +
        "u.2 3 b.2 1l 4.5 1.2 4 k.2 m.6 1 1m 2 1.4 8 7.2 b.2 u 1p c 1e 3 1l.3 5.3 1.4 7.2 b.2 t 1m 2 6 " +
        "5.2 k.2 s.2 1l.2 4.4 8 k.2 t 20 7.3 1 2i 2.7 b.9 2q 2.9 9 1.6 22.2 r 1 1 1j.e 1.5 1.2 5.b 1.10 9 " +
        "2u.4 1.6 1.2 2.2 p.2 4.3 g.4 d 2.2 6 f 2m gw.3 qa.3 t.3 t.2 u.2 1s.2 1.7 8 2.b 3 5 19.3 1h 1t.2 " +
        "y 3a.3 4.2 9 6.3 63.2 2 1m 1.7 1 1 2.8 6.a 2 13 8.h 1r.4 1c 1.5 1 5 14.9 c.2 w.4 2.2 1.3 1k 1.2 " +
        "3 1.3 1m.8 2.2 1s.6 2a.3 1.d 1.7 4 6 3.2 1e.1r d y.2n 1.5 cd 1.3 b.3 d.3 d.3 d.2 p.2 a 2 21 d " +
        "g.d 1f.x 2a3.2 35.3 3h f 2o.w 1b d1 10.4 3.5 5 2l.6 2l.3 lxy yq.6 7i 2q.4 1.a 1 s.4 28.2 e.y 26 " +
        "n.3 31.2 8 3 4 p.2 5 47.2 q.i d 12.8 p.b 1a.3 1c 2.4 2.2 h l.2 1u.6 2.2 2.2 c 8 z b 1f 1.3 2.2 " +
        "5.2 1 r e.2 5.2 1 2s.5 9.3 3d 2 4 fn4 43.g fy.g 3 c.g y 2 4x 6 b z 1 1b 19.2 1v ex 6a 45.5 1ae.3 " +
        "1.2 5.4 14.3 4 4l.2 fx.4 ar.2 49.b 4w 1i.f 1k.3 1d.4 2.2 1x.3 10.5 1.8 1q c.2 1g.9 a.4 2 2n.3 2 " +
        "1.2 6 4g 3.8 l.2 1l.2 3 11.7 3.5 5f.8 2.3 1 n 2c.6 1 4.2 1.2 6m.4 6.2 1.2 r.2 2d.8 2 1.2 2y 1 " +
        "2.6 1 2t.3 2.4 1.5 77.9 1.2 74.2 1 4 40.4 2.2 4 w.a 14.6 2.4 8 9.6 2.3 1a.d 1.2 ba.7 1.6 1 2a.m " +
        "2.7 1.2 1.2 3e.6 3 1.2 1.7 1 20.2 3 1 9n.2 f0b.5 1n.7 9.4 sr 1r.h 1s.2 1.2 f5k.2 43s.3 h.8 2.7 " +
        "u.4 44.3 1iz.1j 4.1e 8 e m.5 1.f 11s.7 1.h 2.7 1.2 1.5 79.e by.4 15s.7 31.8 23z.5 gxds.6o"

    /** white space at the ends of a line of vocab.txt, as Python's str.strip has it */
    const val STRIPPED =
        "9.5 e.5 2s q 4bj 1vj.b t.2 5 1b 334"

    /** what characters become when lower-casing, as distances from them */
    const val FOLDED =
        "1t.q:w 2t:-2n 0:-2o 0:-2p 0:-2q 0:-2r 0:-2s 0:w 0:-2s 0:-2r 0:-2s 0:-2t 0:-2u 0:-2r 0:-2s 0:-2t " +
        "0:-2u 0:w 0.2:-2r 0:-2s 0:-2t 0:-2u 0:-2v 1:w 0:-2s 0:-2t 0:-2u 0:-2v 0:-2s 0:w 1:-3j 0:-3k " +
        "0:-3l 0:-3m 0:-3n 0.2.2:-3o 0:-3n 0:-3o 0:-3p 0:-3q 0:-3n 0:-3o 0:-3p 0:-3q 1.2:-3n 0:-3o 0:-3p " +
        "0:-3q 0:-3r 2:-3o 0:-3p 0:-3q 0:-3r 0:-3o 1:-3q 0:-4f 0:-4g 0:-4h 0:-4i 0:-4j 0:-4k 0:-4j 0:-4k " +
        "0:-4l 0:-4m 0:-4n 0:-4o 0:-4p 0.2:-4q 0:-4r 0:1 1:-4t 0:-4u 0:-4v 0:-4w 0:-4x 0:-4y 0:-4z 0:-50 " +
        "0:-51 0:-52 0:-51 0:-52 0:-53 0:-54 0:-55 0:-56 0:-57 0.2:-58 0:-59 0:1 1:-5b 0:-5c 0:-5d 0:-5e " +
        "0:-5f 0:-5g 0:-5h 0:-5i 0:-5j 1:1 1:-5m 0.2:-5n 0:-5o 1:-5p 0:-5q 0:-5r 0:-5s 0:-5t 0:-5u " +
        "0.2.2:1 1:-5x 0:-5y 0:-5z 0:-60 0:-61 0:-62 1:1 1:-65 0:-66 0:-67 0:-68 0:-69 0:-6a 0:1 1:-6a " +
        "0:-6b 0:-6c 0:-6d 0:-6e 0.2:-6f 0:-6g 0:-6h 0:-6i 0:-6j 0:-6k 0:-6l 0.2:-6m 0:-6n 0:-6o 0:-6p " +
        "0:1 1:-6r 0:-6s 0:-6t 0:-6u 0:-6v 0:-6w 0:-6x 0:-6y 0:-6z 0:-70 0:-71 0:-72 0:-71 0:-72 0:-71 " +
        "0:-72 0.2:-73 0:-74 0:-75 0:-76 0:-77 0:-78 2:5u 0.2.2:1 1:5q 0:1 1.2:5p 0:1 2:27 0:5m 0:5n 0:1 " +
        "1:5p 0:5r 1:5v 0:5t 0:1 3:5v 0:5x 1:5y 0:-8h 0:-8i 0.2.2:1 1:62 0:1 1:62 2:1 1:62 0:-8q 0:-8r " +
        "0.2:61 0.2.2:1 1:63 0:1 3:1 7:2 0:1 1:2 0:1 1:2 0:1 1:-a4 0:-a5 0:-9y 0:-9z 0:-9u 0:-9v 0:-9q " +
        "0:-9r 0:-9s 0:-9t 0:-9u 0:-9v 0:-9w 0:-9x 0:-9y 0:-9z 1:-al 0:-am 0:-an 0:-ao 0:-70 0:-71 0:1 " +
        "1:-an 0:-ao 0:-al 0:-am 0:-aj 0:-ak 0:-al 0:-am 0:4k 0:4j 0:-au 0:2 0:1 1:-b1 0:-b2 0:-2p 0:-1k " +
        "0:-ay 0:-az 0:-bd 0:-be 0:-7q 0:-7r 0:-7a 0:-7b 0:-bj 0:-bk 0:-bl 0:-bm 0:-bj 0:-bk 0:-bl 0:-bm " +
        "0:-bj 0:-bk 0:-bl 0:-bm 0:-bh 0:-bi 0:-bj 0:-bk 0:-bi 0:-bj 0:-bk 0:-bl 0:-bj 0:-bk 0:-bl 0:-bm " +
        "0:-bp 0.2:-bq 0:-br 0:1 1:-c6 0:-c7 0:-3m 1.2.2:1 1:-cl 0:-cm 0:-cj 0:-ck 0:-cb 0:-cc 0:-cd " +
        "0:-ce 0:-cf 0:-cg 0:-ch 0:-ci 0:-c9 0:-ca 6:8bv 0:1 1:-4j 0:8bs 2:1 1:-5f 0:1x 0:1z 0.5.2:1 " +
        "81.2.2:1 1:-57 1:1 7:-n7 0:38 5:-kd 0:17 0:-k0 0:19 0:1a 0:1b 1:1f 1:1j 0:1m 0:15 0.h:w 1.7:w " +
        "0:f 0:q 0:5 0:8 0:9 0:a 0:l p:-h 0:-6 0:-d 0:-8 0:-5 0:8 3:-1 0:-2 3.c.2:1 5:-1o 2:1 1:-7 0:1 " +
        "2.3:-3m 0:1h 0:1g 0:28 0:1c 0.3:28 0:27 0.4:28 0:1a 0:17 0:1h 0:28 0.9:w 0:v 0.m:w 9:-1 m:-r " +
        "0:-s 1:-w 3:-1 4:-y 0:-11 0:-r 1.b.2:1 1:-1 0:-2 0.5.2:1 9.r.2:1 1:f 0:-3v 0:-3w 0.6.2:1 2:-4g " +
        "0:-4h 0:-4i 0:-4j 0:1 1:-4h 0:-4i 0:1 1:-1 0:-2 0:-4m 0.2:-4n 0:-4o 0:1 1:-4q 0:-4r 0:-4s 0:-4t " +
        "0:-4o 0:-4p 0:1 1:-1 0:-2 0:-4f 0:-4g 0:-4r 0:-4s 0:-4t 0:-4u 0:-4v 0:-4w 0:-4t 0:-4u 0:1 1:-4t " +
        "0:-4u 0.r.2:1 2.12:1c 5n:5 0:4 0:10 0:2 0:10 49:l 1:-1 g:-1 gl:-1 7:-1 2:-1 z.3:-1v 0:-1r " +
        "0.2:-1n 0:-1f 0:-1c 2z:-4,-d 0:-5,b f.2:-1n 1:-1c 2b:-1 2:2 y.2:-1v 0:-1r 2:-1f 6h:-1 2:-4,-d " +
        "0:-5,b f.2:-1n 1i:-2,1v 1h:-4,-c 0:-4,-d 0:-6,b 6r:l 6.2:e 1:-8 0:-9,a 3i:-4,-c 0:-4,-d 0:-6,b " +
        "3x:-1 1:-3,-d 0:-4,-e 0:-5,1 9w:-1 9:-1 4:-1 4:-1 4:-1 c:-15 58:-1 3d.12:5ls 1:5ls 5:5ls " +
        "k2.28:tzk 0.6:8 1e8:-1,1b 1:-1,19 1:-1,17 1:-1,15 1:-1,13 3:-1,z 14:-6 1:-8 2:-2,-b 0:-2,-c 1:-e " +
        "98.17:-2bk 2.3:-2bk 8w:-5un 0.2:-5uo 0:-5up 0:-5uq 0:-5ur 0:-5us 0.2:-5ut 0.2:-5uu 0:-5uv 0:-5uw " +
        "0:-5ux 0:-5uy 0:-5uz 0:-5v0 0:-5v1 0:-5v2 0.2:-5v3 0:-5v4 0:-5v5 0:-5v6 0:-5v7 0:-5v8 0:-5v9 " +
        "0:-5va 0:-5vb 0.2:-5vc 0.2:-5vd 0.2:-5ve 0:-5vf 0:-5vg 0:-5vh 0:-5vi 0:-5vj 0:-5vk 0:-5vl 0:-5vm " +
        "0.2:-5vn 0:-5vo 0:-5vp 0:-5vq 0:-5vp 0:-5vq 0:-5vr 0:-5vs 0:-5vt 0.2:-5vu 0:-5vv 0:-5vw 0:-5vx " +
        "0:-5vy 0:-5vz 0:-5w0 0.2:-5w1 0:-5w2 0:-5w3 0:-5w4 0:-5w5 0.2:-5w6 0:-5w7 0:-5w8 0:-5w9 0:-5wa " +
        "0:-5wb 0:-5wc 0.2:-5wd 0:-5we 0:-5wf 0:-5wg 0:-5wh 0:-5wi 0:-5wj 0.2:-5wk 0:-5wl 0:-5wm 0:-5wn " +
        "0:-5wm 0:-5wn 0:-5wo 0:-5wp 0:-5wq 0:-5wr 0:-5ws 0.2:-5wt 0:-5wu 0:-5wv 0:-5ww 0:-5wx 0:-5wy " +
        "0:-5wz 0:-5x0 0:-5x1 0.2:-5x2 0:-5x3 0:-5x4 0:-5x5 0:-5x6 0:-5x7 0:-5x8 0.2:-5x9 0:-5xa 0:-5xb " +
        "0:-5xc 0:-5xd 0:-5xe 0:-5xf 0:-5xg 0:-5xh 0.2:-5xi 0:-5xj 0:-5xk 0.2:-5xl 0:-5xm 0:-5xn 0:-5xo " +
        "0:-5xp 0:-5xq 0:-5xr 0:-5xs 0:-5xt 0.2:-5xu 0:-5xv 0:-5xw 0.2:-5xx 0.2:-5xy 0:-5xz 0:-5y0 0:-5y1 " +
        "0:-5y2 0:-5y3 0:-5ym 0:-5yb 0:-5y9 0:-5y8 1:-5r0 2:-5vj 1:-5z3 0:-5z4 0:-5z5 0:-5z6 0:-5z7 " +
        "0:-5z8 0:-5z9 0:-5za 0:-5zb 0:-5zc 0:-5zd 0:-5ze 0:-5zf 0:-5zg 0:-5zh 0:-5zi 0:-5zj 0:-5zk " +
        "0:-5zl 0:-5zm 0:-5zn 0:-5zo 0:-5zp 0:-5zq 0:-5zn 0:-5zo 0:-5zp 0:-5zq 0:-5zr 0:-5zs 0:-5zt " +
        "0:-5zu 0:-5zv 0:-5zw 0:-5zx 0:-5zy 0:-5zz 0:-600 0:-601 0:-602 0:-5zz 0:-600 0:-601 0:-602 " +
        "0:-5zx 0:-5zy 0:-5zz 0:-600 0:-601 0:-602 0:-603 0:-604 0:-605 0:-606 0:-607 0:-608 0:-609 " +
        "0:-60a 0:-60b 0:-60c 0:-60d 0:-60e 0:-60f 0:-60g 0:-60h 0:-60i 0:-60j 0:-60k 0:-60f 0:-60g " +
        "0:-60h 0:-60i 0:-60j 0:-60k 0:-60l 0:-60m 0:-60n 0:-60o 0:-60p 0:-60q 0:-60r 0:-60s 0:-60p " +
        "0:-60q 0:-60r 0:-60s 0:-60t 0:-60u 0:-60v 0:-60w 0.3.2:1 1:-5e7 0:-5e8 0:-5e9 0:-5ea 0:-5eb " +
        "0:-5ec 0:-5ed 0:-5ee 0:-5ef 0:-5eg 0:-5eh 0:-5ei 0:-5ej 0:-5ek 0:-5el 0:-5em 0:-5ej 0:-5ek " +
        "0:-5el 0:-5em 0:-5en 0:-5eo 2:-5er 0:-5es 0:-5et 0:-5eu 0:-5ev 0:-5ew 2:-5ex 0:-5ey 0:-5ez " +
        "0:-5f0 0:-5f1 0:-5f2 0:-5f3 0:-5f4 0:-5f5 0:-5f6 0:-5f7 0:-5f8 0:-5f9 0:-5fa 0:-5fb 0:-5fc " +
        "0:-5fb 0:-5fc 0:-5fd 0:-5fe 0:-5ff 0:-5fg 0:-5fh 0:-5fi 0:-5fj 0:-5fk 0:-5fl 0:-5fm 0:-5fn " +
        "0:-5fo 0:-5fp 0:-5fq 0:-5fl 0:-5fm 0:-5fn 0:-5fo 0:-5fp 0:-5fq 2:-5ft 0:-5fu 0:-5fv 0:-5fw " +
        "0:-5fx 0:-5fy 2:-5fv 0:-5fw 0:-5fx 0:-5fy 0:-5fz 0:-5g0 0:-5g1 0:-5g2 1:-5g4 1:-5g6 1:-5g8 " +
        "1:-5ga 0:-5g7 0:-5g8 0:-5g9 0:-5ga 0:-5gb 0:-5gc 0:-5gd 0:-5ge 0:-5gf 0:-5gg 0:-5gh 0:-5gi " +
        "0:-5gj 0:-5gk 0:-5gl 0:-5gm 0:-5hb 0:-5hc 0:-5h9 0:-5ha 0:-5h9 0:-5ha 0:-5h9 0:-5ha 0:-5h5 " +
        "0:-5h6 0:-5h1 0:-5h2 0:-5gz 0:-5h0 2:-5hr 0:-5hs 0:-5ht 0:-5hu 0:-5hv 0:-5hw 0:-5hx 0:-5hy " +
        "0:-5hz 0:-5i0 0:-5i1 0:-5i2 0:-5i3 0:-5i4 0:-5i5 0:-5i6 0:-5i1 0:-5i2 0:-5i3 0:-5i4 0:-5i5 " +
        "0:-5i6 0:-5i7 0:-5i8 0:-5i9 0:-5ia 0:-5ib 0:-5ic 0:-5id 0:-5ie 0:-5if 0:-5ig 0:-5hz 0:-5i0 " +
        "0:-5i1 0:-5i2 0:-5i3 0:-5i4 0:-5i5 0:-5i6 0:-5i7 0:-5i8 0:-5i9 0:-5ia 0:-5ib 0:-5ic 0:-5id " +
        "0:-5ie 0:-5j3 0:-5j4 0:-5j5 0:-5j6 0:-5j7 1:-5j9 0:-5ja 0:-5jb 0:-5jc 0:-5jd 0:-5je 0:-5jf " +
        "1:-5j9 2:-655 0:-5jf 0:-5jg 0:-5jh 1:-5jj 0:-5jk 0:-5jn 0:-5jo 0:-5jn 0:-5jo 0:-5jp 0:-e 0:-f " +
        "0:-g 0:-5jr 0:-5js 0:-5jt 0:-5ju 2:-5jx 0:-5jy 0:-5jz 0:-5k0 0:-5k1 0:-5k2 1:x 0:w 0:v 0:-5jv " +
        "0:-5jw 0:-5jx 0:-5jy 0:-5k3 0:-5k4 0:-5k1 0:-5k2 0:-5k3 0:-5k4 0:-5k5 0:-5k6 0:-5kb 0:-66d " +
        "0:-66e 0:-68f 2:-5k9 0:-5ka 0:-5kb 1:-5kd 0:-5ke 0:-5kp 0:-5kq 0:-5kh 0:-5ki 0:-5kj 0:-66h " +
        "88:-5st 3:-6gv 0:-6h6 6:s 19.g:g j:1 m:-a 0:-9 i:-q u:3 0:6 0:3 1g:-1 4:-1 2:-1 n.2.2:-1 q:-5 " +
        "2:-1 2:-2 1:-1 m:-6qr 1:-1 a:-w 0:-6r6 0:-6r5 0.2:-c 2.2:-2 2.2:-2 6.2:-6 2.2:-2 2.2:-2 y:-a " +
        "0.2:-5 0:-4 1c.2:-2s 0.2:-29 6.4:-1k 1n.2:2jj az.q:q 170:1 83.1b:1c 1d:1 1:-8af 0:-2xy 0:-89z " +
        "2.3.2:1 1:-8bg 0:-8al 0:-8bj 0:-8bi 1:1 2:1 8.2:-8cf 0.1e.2:1 8.2.2:1 4:1 nt.c.2:-1 2.3.2:-1 " +
        "6:-1 0:-2 1:-1 0:-2 1:-1 0:-2 1:-1 0:-2 1:-1 0:-2 m:-26 9:-1 d.c.2:-1 2.3.2:-1 6:-1 0:-2 1:-1 " +
        "0:-2 1:-1 0:-2 1:-1 0:-2 1:-1 0:-2 m:-26 2.4:-8 3:-1 n5t.n.2:1 j.e.2:1 3r.7.2:1 3.v.2:1 a.2.2:1 " +
        "1:-r9g 0.5.2:1 4:1 1:-wmg 2.2.2:1 3.a.2:1 1:-wn8 0:-wnj 0:-wnf 0:-wn5 0:-wn8 1:-wlu 0:-wmi " +
        "0:-wlx 0:ps 0.6.2:1 3:1 1:-1c 0:-wn7 0:-raw 0.2.2:1 17:1 g0a:-lh4 0:-sul 0:-kzc 0:-ldn 0:-rar " +
        "0:-xqr 0:-wm9 0:-hnv 0:-hnw 0:-vjs 0:-ke1 0:-was 0:-vk4 0:-tuf 0:-pt1 0:-o0a 0:-moh 0:-mdz " +
        "0:-m56 0:-kn8 0:-s9e 0:-rne 0:-qwt 0:-qbd 0:-n2z 0:-khb 0:-isp 0:-xp5 0:-wpz 0:-s2h 0:-qo3 " +
        "0:-mpe 0:-hz6 0:-us1 0:-r3r 0:-ms6 0:-m2o 0:-tp8 0:-nke 0:-mbs 0:-uhq 0:-suq 0:-rls 0:-qi7 " +
        "0:-km6 0:-xif 0:-x2v 0:-wup 0:-tbg 0:-s4e 0:-qoy 0:-pqk 0:-nxv 0:-mr3 0:-moq 0:-l6w 0:-jd2 " +
        "0:-iiy 0:-i0w 0:-pf3 0:-p8d 0:-of1 0:-n79 0:-k6z 0:-hxd 0:-lt7 0:-voj 0:-ugv 0:-oo4 0:-nuv " +
        "0:-qn8 0:-pdp 0:-lfq 0:-jf6 0:-voy 0:-uzt 0:-sah 0:-rjn 0:-rb3 0:-oio 0:-obd 0:-jk6 0:-ww0 " +
        "0:-nuw 0:-x2w 0:-x3d 0:-p4q 0:-oex 0:-n6v 0:-jj8 0:-lp6 0:-tqk 0:-sbe 0:-lsv 0:-xt1 0:-v3s " +
        "0:-ua6 0:-qfu 0:-q2a 0:-wuk 0:-pd5 0:-xie 0:-ud9 0:-xui 0:-rrw 0:-t81 0:-ojs 0:-wq0 0:-vta " +
        "0:-prg 0:-n51 0:-lvp 0:-rzq 0:-kw1 0:-ru2 0:-tpx 0:-nf3 0:-tlh 0:-q35 0:-xqh 0:-x73 0:-x4g " +
        "0:-smx 0:-olw 0:-nil 0:-luz 0:-khb 0:-wwa 0:-wn2 0:-vm6 0:-uja 0:-t6m 0:-r5y 0:-pcr 0:-jq1 " +
        "0:-isd 0:-hyp 0:-hx7 0:-wz3 0:-szp 0:-s2d 0:-kyz 0:-umy 0:-u0v 0:-txs 0:-tfb 0:-rcf 0:-qx6 " +
        "0:-qa3 0:-p8r 0:-of6 0:-nxk 0:-l0y 0:-n1n 0:-ktz 0:-k7l 0:-x39 0:-wze 0:-wkh 0:-r13 0:-mam " +
        "0:-lx3 0:-ul5 0:-ucu 0:-tnt 0:-s1j 0:-ors 0:-qia 0:-xqc 0:-w4w 0:-v5v 0:-usx 0:-uc0 0:-qgr " +
        "0:-qbp 0:-o45 0:-nze 0:-kfx 0:-ji4 0:-jfv 0:-ja4 0:-xm2 0:-pag 0:-kjn 0:-jk0 0:-u6w 0:-xtg " +
        "0:-xcx 0:-v66 0:-v3y 0:-t9h 0:-se5 0:-quq 0:-pz3 0:-n2e 0:-ksn 0:-htj 0:-t31 0:-jo8 0:-x1a " +
        "0:-swd 0:-st2 0:-rrd 0:-rhr 0:-qf7 0:-q5w 0:-pk3 0:-on3 0:-j8y 0:-x9g 0:-tyc 0:-jmj 0:-xih " +
        "0:-uyk 0:-rn0 0:-l2l 0:-uh9 0:-u51 0:-ssj 0:-qj8 0:-jme 0:-x4k 0:-wr3 0:-v3u 0:-t71 0:-syb " +
        "0:-soq 0:-rum 0:-qfy 0:-q2r 0:-o6l 0:-mc8 0:-mbr 0:-kkd 0:-jk8 0:-wx8 0:-rhu 0:-wr4 0:-qvy " +
        "0:-qc7 0:-mwm 0:-jm6 0:-ihn 0:-i1g 0:-swt 0:-roq 0:-npq 0:-p4c 0:-p20 0:-orr 0:-qpm 0:-r4y " +
        "0:-lus 0:-xtp 0:-ngo 0:-x51 0:-x6h 0:-uor 0:-tv3 0:-oq5 0:-vb3 0:-rtz 0:-t3m 0:-l3g 0:-mgs " +
        "0:-jp8 0:-m7z 0:-uns 0:-xcc 0:-wgd 2:-vxy 1:-t5q 2:-x87 0:-qng 0:-pxp 0:-pgc 0:-pff 0:-pf9 " +
        "0:-pe4 0:-jie 0:-orj 0:-o69 1:-mxa 1:-lyi 2:-kx9 0:-krt 3:-j7f 0:-j73 0:-j5w 0:-i9l 0:-ksw " +
        "0:-jnc 0:-xoi 0:-xfu 0:-xd1 0:-x2i 0:-x1s 0:-wys 0:-wih 0:-wfl 0:-wcw 0:-vzt 0:-vwy 0:-v6f " +
        "0:-v66 0:-ucp 0:-u6u 0:-u5t 0:-u32 0:-tf6 0:-tb4 0:-t6a 0:-ssf 0:-rta 0:-ros 0:-rhh 0:-r16 " +
        "0:-qvy 0:-qi0 0:-pmi 0:-phq 0:-phg 0:-phi 0:-phb 0:-ph6 0:-ph0 0.2:-pfp 0:-pas 0:-p90 0:-p06 " +
        "0:-okj 0:-ojz 0:-oig 0:-oa0 0:-o5y 0:-nsf 0:-nok 0:-nol 0:-nbc 0:-mds 0:-ma3 0:-m01 0:-lyi " +
        "0:-ln5 0:-llp 0:-l2o 0:-kz3 0:-jnp 0:-jfu 0:-je7 0:-ueu 0:1sw2 0:-nrp 2:-y16 0:-xbw 0:-xe2 " +
        "0:-xrn 0:-xf3 0:-xdh 0:-x4f 0:-x31 0:-wkb 0:-wmc 0:-wkh 0:-wih 0:-w0y 0:-vyi 0:-vui 0:-vu3 " +
        "0:-vmm 0:-vh5 0:-ur4 0:-uqy 0:-umz 0:-ul4 0:-ucu 0:-u9l 0:-ubk 0:-u7v 0:-u96 0:-u55 0:-u3c " +
        "0:-ts9 0:-tpu 0:-tod 0:-th6 0:-t99 0:-t4r 0:-t4o 0:-t32 0:-s9o 0:-s7w 0:-rx2 0:-rlp 0:-rm6 " +
        "0:-rjs 0:-rct 0:-r3i 0:-pva 0:-qy1 0:-quo 0:-qra 0:-qi8 0:-qe4 0:-qco 0:-q6f 0:-q6e 0:-q1o " +
        "0:-q18 0:-q0k 0:-py7 0:-pyi 0:-pnj 0:-pa3 0:-p2l 0:-oxf 0:-or8 0:-on0 0:-odv 0:-o8d 0:-nkx " +
        "0:-ngl 0:-mrg 0:-met 0:-mcx 0:-mci 0:-m4a 0:-m2q 0:-m40 0:-m2j 0:-m2n 0:-m35 0:-m12 0:-lyu " +
        "0:-lo9 0:-l8q 0:-l01 0:-krv 0:-klr 0:-jt6 0:-jqc 0:-jn6 0:-jji 0:-jij 0:-ji8 0:-jgx 0:-iwr " +
        "0:-i0i 0:1njv 0:1njo 0:1ptw 0:-11rp 0:-10vv 0:-10uz 0:1vuc 0:1xx6 0:24n0 0:-i39 0:-i17 1v:-1cg4 " +
        "1:-1cfh a:-1cg1 0:-1cg2 0:-1cg3 0:-1cg4 0:-1cgu 0:-1cgv 0.7:-1cgw 1.5:-1cgw 1.2.2:-1cgw " +
        "0.2.2:-1cgw 0.2.2:-1cgw 0.4:-1cgw 0:-1chi 0:-1chn 0:-1che 0:-1ch6 r6.q:w xx.14:14 3s.10:14 6t:9 " +
        "q:-a 1az.1f:1s rr.2.2:-1 e:-6 in:-4,-d 0:-5,b 1i:-1,1y 1:-1,1i 8:-3,1g 2:-1,1k 1f:-3,-3 1:-5,-f " +
        "0:-6,1 6q:-2 0:-3,-c 1:-5,-1 6z:-2,-b 0:-2,-c kk.w:w 3c:-3,-8 e7c:-3,-3 0:-4,7 0:-5,-4 0:5,-5 " +
        "0:-7,-5 0:-8,-8,-7 0:-9,2,-8 0:-a,-a,-8 2f3:-1,-1 0:-6,-2 0:-7,-3,-3 5x.w:w jjy:-7,7 0:-7,6 " +
        "0:-8,5,e 0:-9,4,e 0:-a,3,e 0:-b,2,e 0:-c,1,e 2e:-2,-2e 0:-2,-2f 0:-4,-2g,-27 0:-4,-2h,-28 " +
        "0:-6,-2i,-28 0:-6,-2j,-29 4lb.y:y 1hi6:-3qo3 0:-3qo9 0:-3qo1 0:-1crl 0:-3qg4 0:-3qdz 0:-3qdn " +
        "0:-3qbp 0:-3q8e 0:-3q7k 0:-3q5f 0:-3q64 0:-3vqm 0:-1brn 0:-3q2p 0:-3q2j 0:-3q24 0:-3q1m 0:-1bzq " +
        "0:-3vq2 0:-3q25 0:-3q14 0:-1byj 0:-3q0w 0:-3q0k 0:-3qkt 0:-3q0e 0:-3q06 0:-k71 0:-3pyg 0:-3py3 " +
        "0:-3vpc 0:-3pwl 0:-3pwb 0:-3pv4 0:-3pv0 0:-3vnz 0:-3psu 0:-3pst 0:-3ps3 0:-3pri 0.2:-3pr8 " +
        "0:-3pqs 0:-3ppf 0:-3pp8 0:-3pp0 0:-3poc 0:-3po3 0:-3po2 0:-3po3 0:-3po4 0:-1b0o 0:-3jyd 0:-3pm4 " +
        "0:-3plk 0:-1as5 0:-3pla 0:-3pl5 0:-3pkl 0:-3pge 0:-3pj9 0:-3piu 0:-3phz 0:-3pge 0:-3pe3 0:-3pde " +
        "0:-3pbk 0:-3pb5 0:-3pa9 0:-3paa 0:-3p9q 0:-3p99 0:-3p92 0:-3p8o 0:-3oz9 0:-3p6u 0:-3oza 0:-3p4t " +
        "0:-3p3v 0:-3pzd 0:-3omb 0:-3ouc 0:-3otb 0:-3osn 0:-3owa 0:-3oro 0:-3orq 0:-3ooc 0:-18xh 0:-3omg " +
        "0:-3omc 0:-3oly 0:-3olf 0:-3ol8 0:-3ojh 0:-18l4 0:-18jb 0:-3ofq 0:-3oeg 0:-3oe5 0:-3ogd 0:-3ocg " +
        "0:-3vcp 0:-3vcc 0:-3o81 0:-3o6k 0:-3o6l 0:-17z8 0:-3o2y 0:-3o2e 0:-3o20 0:-3o1p 0:-17q1 0:-3o1f " +
        "0:-3o19 0:-3ndt 0:-3o0j 0:-3v91 0:-3nyv 0:-3nyi 0:-3nw9 0:-3nxp 0:-176f 0:-3nsp 0:-176f 0:-3nrk " +
        "0:-3nro 0:-3nr8 0.2:-3nog 0:-3v4k 0:-3nnr 0:-3nml 0:-3nm1 0:-3nku 0:-3v3a 0:-16h2 0:-3v2m " +
        "0:-3niz 0:-3nix 0:-3niv 0:-3nic 0:-gsd 0:-3ngy 0:-165c 0:-165d 0:-3gk2 0:-3ng2 0:-3ng3 0:-3v0v " +
        "0:-1333 0:-try 0:-3nef 0:-3ne7 0:-3v08 0:-3ncy 0:-3nbk 0:-3nbb 0:-3nae 0:-3n6n 0:-3uxz 0:-3uyu " +
        "0:-3n67 0:-15g0 0:-3n4u 0:-3n1a 0:-3n17 0:-3n16 0:-3n19 0:-3n00 0:-3mzh 0:-3myi 0:-3myx 0:-3myn " +
        "0:-3mxd 0:-3mwu 0:-3mwr 0:-3mw2 0:-3mvs 0:-3mtz 0:-3mro 0:-3mqq 0:-3mnb 0:-14mk 0:-3mnw 0:-3mpq " +
        "0:-3mmr 0:-3mm1 0:-3mjd 0:-14gd 0:-3mhp 0:-3mkb 0:-3ml4 0:-3us4 0:-3mfu 0:-3mfa 0:-3meg 0:-3mfj " +
        "0:-3uqj 0:-3m9l 0:-3m8t 0:-13nk 0:-3m5k 0:-3lxw 0:-3m2s 0:-3ulx 0:-3m0u 0:-3umg 0:-3unh 0:-3q68 " +
        "0:-3q66 0:-3lxw 0:-3m0p 0:-3gvd 0:-3svy 0:-3lxd 0:-3lxa 0:-3lx5 0:-3lvh 0:-3lvt 0:-12xm 0:-3ul1 " +
        "0:-3lr9 0:-3luj 0:-3lov 0:-3lnh 0:-12t2 0:-3lna 0:-3lqe 0:-3ljm 0:-3uiy 0:-3lie 0:-3lfq 0:-3lds " +
        "0:-3l8j 0:-12dl 0:-3l76 0:-3ufq 0:-3l5a 0:-11zd 0:-3l3x 0:-3uec 0:-3l35 0:-3l1x 0.2:-3l17 " +
        "0:-11m2 0:-17fx 0:-11j3 0:-3kx8 0:-116n 0:-3ku5 0:-3kts 0:-3kwn 0:-3krt 0:-3kqq 0:-3kp6 0:-3kqp " +
        "0:-3kpm 0:-3kp8 0:-3kow 0:-1148 0:-3kr7 0:-3kk9 0:-3kij 0:-3u8n 0:-3kg0 0:-3kg5 0:-10sc 0:-3klx " +
        "0:-3kbl 0:-10oi 0:-10n7 0:-3k98 0:-3k62 0:-3k6u 0:-3k6y 0:-3u68 0:-3k5p 0:-3k4b 0:-3k4i 0:-3k31 " +
        "0:-1c6u 0:-3jyv 0:-103e 0:-3jwi 0:-zuc 0:-3jso 0:-3jsc 0:-3jrm 0:-zdn 0:-3jqc 0:-3jps 0:-z5d " +
        "0:-yz7 0:-3jji 0:-3jj2 0:-3tz2 0:-3jie 0:-3tys 0:-3tyt 0:-3jdz 0:-3jdf 0:-3jcv 0:-3jcc 0:-3jag " +
        "0:-3tw8 0:-3j80 0:-y67 0:-3j7c 0:-y3p 0:-3j60 0:-16l6 0:-3j1m 0:-xi2 0:-xhg 0:-xdl 0:-3tqa " +
        "0:-3tpz 0:-3ivg 0:-x8u 0:-x8w 0:-x7u 0:-x75 0.2:-3iuf 0:-3iug 0:-3ita 0:-3tow 0:-3irj 0:-3tol " +
        "0:-3tme 0:-wmo 0:-3im8 0:-3ikj 0:-3iis 0:-3tke 0:-w8c 0:-3if1 0:-w56 0:-w40 0:-3idj 0:-3ib0 " +
        "0:-3tih 0:-3i8p 0:-3i8g 0:-3i8c 0:-vkw 0:-vcm 0:-vcn 0:-3i41 0:-3tcu 0:-v5i 0:-3hy4 0:-3hy2 " +
        "0:-3tbx 0:-uzp 0:-3hqs 0:-3t8n 0:-3hq8 0:-3hqe 0:-3hpm 0:-ued 0:-3hmx 0:-3t64 0:-3hk7 0:-3hil " +
        "0:-3hgr 0:-3t4t 0:-tvu 0:-tv0 0:-3t3v 0:-tr0 0:-3h8c 0:-to9 0:-3h7n 0:-3h4v 0:-3h4l 0:-tcx " +
        "0:-tax 0:-3h25 0:-t7a 0:-3h1r 0:-134x 0:-3t0s 0:-3h00 0:-3gxs 0:-3szd 0:-3gw7 0:-3oi9 0:-stc " +
        "0:-ssz 0:-133q 0:-133i 0:-3gqy 0:-3gqw 0:-3e27 0:-3swz 0:-3gn2 0:-3gn9 0:-3gms 0:-3q3j 0:-3gma " +
        "0:-3gm9 0:-3gm0 0:-3gkw 0:-s4b 0:-3gkz 0:-3gjg 0:-3ghj 0:-3gfi 0:-3gjd 0:-3gf4 0:-3gdz 0:-3gaw " +
        "0:-3gi5 0:-3gev 0:-3geu 0:-3gef 0:-rxq 0:-rp6 0:-rtd 0:-3ssc 0:-3g6v 0:-3g6u 0:-3g5w 0:-qg1 " +
        "0:-3g3s 0:-rcx 0:-3sr5 0:-3sr2 0:-r9b 0:-r1b 0:-3sqv 0:-3fxf 0:-3fx4 0:-3fwu 0:-3fwt 0:-3fv2 " +
        "0:-3fw0 0:-3fsb 0:-3ftk 0:-3fpe 0:-3fro 0:-3fpu 0:-3fp4 0:-3so8 0:-3fmn 0:-3fls 0:-3snd 0:-3fj7 " +
        "0:-3fj5 0:-py6 0:-3ffz 0:-3fft 0:-3slv 0:-3ff3 0:-3w27 0:-pi5 0:-pd2 0:-3si7 0:-3shz 0:-3f3j " +
        "0:-3f1f 0:-3ex3 0:-3erh 0:-oq3 0:-3ep5 0:-3eok 0:-3em3 0:-3ejk 0:-o89 0:-1brp 0:-3ehb 0:-3ehr " +
        "0:-3egc 0:-1blr 0:-3ea2 0:-3e7b 0:-mxa 0:-mwk 0:-3dxq 0:-3dv6 0:-3dub 0:-mnr 0:-3du3 0:-3dm7 " +
        "0.2:-3dht 0:-3dke 0:-3d9u 0:-3d93 0:-lpv 0:-3cyr 0:-3ryy 0:-3cxl 0:-lfe 0:-3rws 0:-3cq8 0:-3o02 " +
        "0:-3cnm 0:-koh 0:-kil 0:-3rt6 0:-3rsz 0:-3cii 0:-k4x 0:-3rre 0:-k13 0:-3chf 0:-3chg 0:-3cgn " +
        "0:-jt7 0:-3cbk 0:-3ro0 0:-3c9n 0:-3c66 0:-3c5g 0:-3c3t 0:-3rju 0:-iqh 0:-3bw8 0:-3bnv 0:-3bin " +
        "0:-3rcv 0:-3rc1 0:-3bfs 0:-hmq 0:-3rbt 0:-hl9 0:-hdx 0:-hab 0:-3b6i 0:-3r9c 0:-3b4u 0:-3b4q " +
        "0:-3b4k 0:-3b4b 0:-3b45 0:-3b35 0:-gm5"

    /** the order in which kept marks stand side by side */
    const val MARK_ORDER =
        "1p3:w 2v1:3 u:3 sv:3 2t:3 1z.2:3 3zu.2:t nxf:3 30:3 joo.5:w uq:3 38:3 7r:3 3k.3:3 kl:3 hy:3 " +
        "16r:3 d0t:3 2ww.2:1 j8z.2:l 6:v 0.5:l 41n:w 0:s"
}
